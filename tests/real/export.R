# export.R ROOT OUT: reads lines "package dataset" and writes OUT/package-dataset.csv as write.csv does by default.
# ROOT holds unpacked packages; data alone are read of them, so nothing that they depend on is needed.
arguments <- commandArgs(trailingOnly = TRUE)
wanted <- read.table("stdin", col.names = c("package", "dataset"), colClasses = "character")

# Every data set of a package: in one lazy database, or a file each.
package_data <- function(package) {
  found <- Sys.glob(file.path(arguments[1], "*", "usr/lib/R", c("site-library", "library"), package, "data"))
  folder <- c(found, system.file("data", package = package))[1]
  data <- new.env()
  if (file.exists(file.path(folder, "Rdata.rdb"))) lazyLoad(file.path(folder, "Rdata"), envir = data)
  else for (file in Sys.glob(file.path(folder, "*.[rR][dD]a*"))) load(file, envir = data)
  data
}

for (package in unique(wanted$package)) {
  data <- package_data(package)
  for (dataset in wanted$dataset[wanted$package == package])
    if (exists(dataset, envir = data, inherits = FALSE))
      write.csv(get(dataset, envir = data), file.path(arguments[2], paste0(package, "-", dataset, ".csv")))
}
