"""files.py: real files that Debian and npm packages ship, each with the column that a user would predict. The choice
was made before anything was trained on them."""

import zlib


class File:
    """One table. package, name: where it is from. target: a column's name, or its index. The rest is for reading the
    file beside epochd, which finds it out for itself: number (the target is one: R2 counts, not accuracy), delimiter,
    quote, head (lines before the rows), row_names (the first column is none: R's, which pandas calls the index),
    counted (the first line says how many rows there are, as scikit-learn's do: of a part of them the count is
    another)."""

    def __init__(self, package, name, target, number=False, delimiter=",", quote='"', head=1, row_names=False,
                 counted=False):
        self.package, self.name, self.target, self.number = package, name, target, number
        self.delimiter, self.quote, self.head, self.row_names, self.counted = delimiter, quote, head, row_names, counted
        self.title = f"{package}: {name}"

    @property
    def held_out(self):
        """Whether nothing is chosen by this file: a third of them, by their names."""
        return zlib.crc32(self.title.encode()) % 3 == 0


def of_r(package, classes, numbers):
    return [File(package, name, target, number, row_names=True)
            for number, wanted in ((False, classes), (True, numbers)) for name, target in wanted.items()]


TABLES = [
    File("sklearn", "iris.csv", -1, counted=True),
    File("sklearn", "wine_data.csv", -1, counted=True),
    File("sklearn", "breast_cancer.csv", -1, counted=True),
    File("sklearn", "digits.csv.gz", -1, head=0),
    File("sklearn", "boston_house_prices.csv", -1, number=True, head=2, counted=True),
    File("statsmodels", "anes96/anes96.csv", -1, delimiter="\t", quote="'"),
    File("statsmodels", "modechoice/modechoice.csv", "choice", delimiter=";"),
    File("statsmodels", "fair/fair.csv", "affairs", number=True),
    File("statsmodels", "star98/star98.csv", "PR50M", number=True),
    File("statsmodels", "macrodata/macrodata.csv", "unemp", number=True),
    File("statsmodels", "randhie/randhie.csv", "mdvis", number=True),
    File("vega-datasets", "seattle-weather.csv", "weather"),
    File("vega-datasets", "weather.csv", "weather"),
    File("vega-datasets", "birdstrikes.csv", "Wildlife Size"),
    File("vega-datasets", "stocks.csv", "price", number=True),
    File("vega-datasets", "gapminder-health-income.csv", "health", number=True),
    File("vega-datasets", "windvectors.csv", "speed", number=True),
    *of_r("datasets", {"iris": "Species", "infert": "case"},
          {"airquality": "Ozone", "ChickWeight": "weight", "CO2": "uptake", "quakes": "mag", "attenu": "accel",
           "mtcars": "mpg", "ToothGrowth": "len", "swiss": "Fertility", "trees": "Volume",
           "LifeCycleSavings": "sr", "rock": "perm"}),
    *of_r("ggplot2", {"midwest": "inmetro"},
          {"diamonds": "price", "mpg": "hwy", "txhousing": "sales", "economics": "unemploy"}),
    *of_r("MASS", {"biopsy": "class", "cats": "Sex", "crabs": "sp", "fgl": "type", "Pima.tr": "type", "survey": "Sex",
                   "Aids2": "status", "shuttle": "use", "OME": "OME"},
          {"Boston": "medv", "Cars93": "Price", "cpus": "perf", "quine": "Days", "nlschools": "lang",
           "birthwt": "bwt"}),
    *of_r("mlbench", {"BreastCancer": "Class", "DNA": "Class", "Glass": "Type", "HouseVotes84": "Class",
                      "Ionosphere": "Class", "LetterRecognition": "lettr", "PimaIndiansDiabetes2": "diabetes",
                      "Satellite": "classes", "Sonar": "Class", "Soybean": "Class", "Vehicle": "Class",
                      "Vowel": "Class", "Zoo": "type"},
          {"BostonHousing2": "cmedv", "Ozone": "V4", "Servo": "Class"}),
    *of_r("carData", {"TitanicSurvival": "survived", "Mroz": "lfp", "Arrests": "released", "Chile": "vote",
                      "BEPS": "vote", "WVS": "poverty", "Womenlf": "partic"},
          {"Salaries": "salary", "Prestige": "prestige", "UN": "infantMortality", "SLID": "wages"}),
    *of_r("modeldata", {"penguins": "species", "attrition": "Attrition", "credit_data": "Status", "mlc_churn": "churn",
                        "wa_churn": "churn", "hpc_data": "class", "cells": "class", "stackoverflow": "Remote"},
          {"ames": "Sale_Price", "concrete": "compressive_strength", "biomass": "HHV", "Sacramento": "price",
           "Chicago": "ridership"}),
    *of_r("caret", {"GermanCredit": "Class"}, {"cars": "Price"}),
    *of_r("rpart", {"kyphosis": "Kyphosis", "stagec": "ploidy"}, {"cu.summary": "Price"}),
    *of_r("survival", {"pbc": "status"}, {"lung": "time"}),
    *of_r("VIM", {"colic": "surgery"}, {"tao": "Sea.Surface.Temp"}),
]

# Themes of icons: folders of PNG files, whose names are the classes.
ICONS = ("tango-icon-theme",)

DEBIAN = {"sklearn": "python3-sklearn", "statsmodels": "python3-statsmodels", "ggplot2": "r-cran-ggplot2",
          "MASS": "r-cran-mass", "mlbench": "r-cran-mlbench", "carData": "r-cran-cardata",
          "modeldata": "r-cran-modeldata", "caret": "r-cran-caret", "rpart": "r-cran-rpart",
          "survival": "r-cran-survival", "VIM": "r-cran-vim", **{theme: theme for theme in ICONS}}
NPM = {"vega-datasets": "vega-datasets@2"}
R = ("datasets", "ggplot2", "MASS", "mlbench", "carData", "modeldata", "caret", "rpart", "survival", "VIM")
